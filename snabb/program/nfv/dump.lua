-- SPDX-License-Identifier: Apache-2.0
-- A dump of OpenStack Neutron's database, as `mysqldump --tab=FOLDER` writes it: of
-- each table TABLE.sql, which declares its columns, and TABLE.txt, a line a row.

local document = require("lib.document.document")
local failure = require("core.failure")
local stat = require("posix.sys.stat")

local dump = {}

local MOST_BYTES = 2 ^ 30
local ESCAPES = {t = "\t", n = "\n", r = "\r", ["0"] = "\0", b = "\b", Z = "\26"}

--- The columns there are where no TABLE.sql tells.
dump.COLUMNS = {
  ports = {"tenant_id", "id", "name", "network_id", "mac_address", "admin_state_up",
    "status", "device_id", "device_owner"},
  ml2_port_bindings = {"port_id", "host", "vif_type", "vnic_type", "profile",
    "vif_details"},
  securitygrouprules = {"tenant_id", "id", "security_group_id", "remote_group_id",
    "direction", "ethertype", "protocol", "port_range_min", "port_range_max",
    "remote_ip_prefix"},
  securitygroupportbindings = {"port_id", "security_group_id"},
}

-- The columns, in their order, that the CREATE TABLE of the file tells.
local function columns_of(path)
  local definition = document.text(path, MOST_BYTES)
    :match("CREATE TABLE%s+`[^`]*`%s*(%b())")
  if not definition then failure.usage("%s has no CREATE TABLE", path) end
  local columns = {}
  for line in definition:gmatch("[^\n]+") do
    columns[#columns + 1] = line:match("^%s*%(?%s*`([^`]*)`")
  end
  return columns
end

-- The fields of a row; NULL is nil.
local function fields(line, columns)
  local row, i = {}, 0
  for field in (line .. "\t"):gmatch("([^\t]*)\t") do
    i = i + 1
    if field ~= "\\N" and columns[i] then
      row[columns[i]] = field:gsub("\\(.)", function (c) return ESCAPES[c] or c end)
    end
  end
  return row
end

--- The rows of a table of the dump in the folder: a list of tables by column, which
--- also have `place`, FILE:LINE. `needed`: columns that each row must have.
function dump.rows(folder, name, needed)
  local base = folder .. "/" .. name
  local sql, path = base .. ".sql", base .. ".txt"
  local columns = stat.stat(sql) and columns_of(sql) or dump.COLUMNS[name]
  local rows, number = {}, 0
  for line in document.text(path, MOST_BYTES):gmatch("([^\n]*)\n?") do
    number = number + 1
    if line ~= "" then
      local row = fields(line, columns)
      row.place = ("%s:%d"):format(path, number)
      for _, column in ipairs(needed) do
        if not row[column] then
          failure.usage("%s: the row has no %s; the columns are %s", row.place, column,
            table.concat(columns, ", "))
        end
      end
      rows[#rows + 1] = row
    end
  end
  return rows
end

return dump
