-- SPDX-License-Identifier: Apache-2.0
-- Each reason to refuse a port, on fake /sys, /proc and /dev trees.

local check = require("lib.port.check")
local interfaces = require("lib.hardware.interfaces")
local port_checks = require("testing.port_checks")
local spec = require("lib.port.spec")
local standby = require("core.outside.standby")

local NO_RAW = "000001ffffffdfff"
local NONE, ADMIN_ONLY = "0000000000000000", "0000000000201000"

describe("check.ready", function()
  local tree, accepted, refused
  before_each(function()
    local checks = port_checks.new()
    tree, accepted, refused = checks.tree, checks.accepted, checks.refused
  end)
  after_each(function() tree.remove() end)

  local function write(name, text)
    tree.write(name, text)
    return tree.base .. "/" .. name
  end

  it("accepts ports that need nothing", function()
    accepted("null")
    accepted("ring:a")
    accepted("3")
  end)

  describe("kernel interfaces", function()
    it("accepts one that is up", function()
      accepted("packet:veth0")
      accepted("xdp:veth0")
    end)

    it("refuses one that doesn't exist, and lists those that do", function()
      tree.interface("eth7")
      refused("packet:eth1",
        "there is no kernel interface 'eth1'; there are: eth7, veth0")
      refused("xdp:eth1", "there is no kernel interface 'eth1'")
    end)

    it("refuses one that is down, and says how to bring it up", function()
      tree.interface("veth1", {flags = "0x1002"})
      refused("packet:veth1", "'veth1' is down", "ip link set veth1 up")
    end)

    it("refuses the default route's", function()
      tree.write("proc/net/route",
        "veth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
      refused("packet:veth0", "the default route goes over 'veth0'", "use another")
      refused("xdp:veth0", "the default route goes over 'veth0'")
    end)

    it("takes the default route's to receive only, or if that is wanted", function()
      tree.write("proc/net/route",
        "veth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
      refused("packet:veth0", "write force=1", "`perigee capture`")
      refused("xdp:veth0", "move the route away first")
      check.ready(spec.parse("packet:veth0,force=1"), tree.roots)
      local port = spec.parse("packet:veth0")
      port.receive_only = true
      check.ready(port, tree.roots)
    end)

    it("takes the default route's in a namespace that isn't the machine's", function()
      tree.write("proc/net/route",
        "veth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
      tree.link("net:[7]", "proc/1/ns/net")
      tree.link("pid:[4026531836]", "proc/self/ns/pid")
      tree.link("net:[7]", "proc/self/ns/net")
      refused("packet:veth0", "the default route goes over 'veth0'")
      tree.link("net:[8]", "proc/2/ns/net")
      os.rename(tree.base .. "/proc/2/ns/net", tree.base .. "/proc/self/ns/net")
      accepted("packet:veth0")
      tree.link("net:[4026531833]", "proc/2/ns/net") -- whoever the first process is
      os.rename(tree.base .. "/proc/2/ns/net", tree.base .. "/proc/self/ns/net")
      refused("packet:veth0", "the default route goes over 'veth0'")
    end)

    it("names the bridge by which the default route goes", function()
      tree.link("../br0", "sys/class/net/veth0/upper_br0")
      tree.write("proc/net/route",
        "br0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
      refused("packet:veth0", "over 'veth0' (by 'br0')")
    end)

    it("refuses without the capabilities, and names them", function()
      tree.capabilities(NO_RAW)
      refused("packet:veth0", "this needs root or CAP_NET_RAW; run it with sudo")
      tree.capabilities(ADMIN_ONLY)
      refused("xdp:veth0", "this needs root or CAP_NET_RAW;")
      tree.capabilities(NONE)
      refused("xdp:veth0", "CAP_NET_RAW and CAP_NET_ADMIN and CAP_BPF")
    end)

    it("refuses AF_XDP on an MTU that a page can't hold", function()
      tree.interface("veth0", {mtu = "3246"})
      accepted("xdp:veth0")
      tree.interface("veth0", {mtu = "3247"})
      refused("xdp:veth0", "MTU of 3247", "ip link set veth0 mtu 3246", "packet:veth0")
      accepted("packet:veth0")
    end)

    it("refuses a queue that the interface hasn't", function()
      tree.write("sys/class/net/veth0/queues/rx-0/rps_cpus", "")
      accepted("xdp:veth0")
      refused("xdp:veth0,queue=1", "has no receive queue 1")
    end)
  end)

  describe("netmap", function()
    it("is refused without the module, which it names with its source", function()
      refused("netmap:veth0", "dev/netmap, as the kernel's module netmap isn't loaded",
        "https://github.com/luigirizzo/netmap", "modprobe netmap")
    end)

    it("takes interfaces that packet takes, and names of netmap's own", function()
      tree.write("dev/netmap", "")
      accepted("netmap:veth0")
      accepted("netmap:vale0:a")
      accepted("netmap:a{1")
      accepted("netmap:a}1")
      refused("netmap:eth1", "there is no kernel interface 'eth1'")
      tree.write("proc/net/route",
        "veth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
      refused("netmap:veth0", "the default route goes over 'veth0'")
    end)
  end)

  describe("taps", function()
    it("accepts a new name and a multi-queue TAP that is there", function()
      accepted("tap:tap9")
      tree.interface("tap0", {tun_flags = "0x1902"})
      accepted("tap:tap0")
    end)

    it("refuses an interface that isn't a TAP", function()
      refused("tap:veth0", "'veth0' that isn't a TAP", "packet:veth0")
      tree.interface("tun0", {tun_flags = "0x1001"})
      refused("tap:tun0", "'tun0' that isn't a TAP")
    end)

    it("takes the name of one that is just being removed", function()
      local exists, asked = interfaces.exists, 0
      interfaces.exists = function ()
        asked = asked + 1
        return asked == 1
      end
      finally(function () interfaces.exists = exists end)
      accepted("tap:tap7")
    end)

    it("takes a TAP of one queue, too", function()
      tree.interface("tap0", {tun_flags = "0x1802"})
      accepted("tap:tap0")
    end)

    it("refuses without the rights", function()
      tree.capabilities(NONE)
      refused("tap:tap9", "root or CAP_NET_ADMIN")
      os.remove(tree.base .. "/dev/net/tun")
      refused("tap:tap9", "dev/net/tun can't be opened")
    end)
  end)

  describe("capture files", function()
    local HEADERS = {
      pcap = "\212\195\178\161" .. ("\0"):rep(20),
      nanoseconds = "\077\060\178\161" .. ("\0"):rep(20),
      big_endian = "\161\178\195\212" .. ("\0"):rep(20),
      big_endian_nanoseconds = "\161\178\060\077" .. ("\0"):rep(20),
      pcapng = "\010\013\013\010" .. ("\0"):rep(24),
    }
    for name, header in pairs(HEADERS) do
      it("accepts " .. name, function()
        accepted("pcap:rx=" .. write("a.pcap", header))
      end)
    end

    it("refuses what isn't there, isn't a file or isn't a capture", function()
      refused("pcap:rx=" .. tree.base .. "/none", "there is no file", "to receive from")
      refused("pcap:rx=" .. tree.base, "is a directory")
      refused("pcap:rx=" .. write("text", ("hello"):rep(10)), "isn't a pcap or pcapng")
      refused("pcap:rx=" .. write("empty", ""), "isn't a pcap or pcapng")
      refused("pcap:rx=" .. write("short", HEADERS.pcap:sub(1, 23)), "isn't a pcap")
    end)

    it("accepts a new file, one to overwrite, and /dev/null to send to", function()
      accepted("pcap:tx=" .. tree.base .. "/new.pcap")
      accepted("pcap:tx=" .. write("old.pcap", "x"))
      accepted("pcap:tx=/dev/null")
    end)

    it("refuses to send to a directory, or into none", function()
      refused("pcap:tx=" .. tree.base, "is a directory")
      refused("pcap:tx=" .. tree.base .. "/none/b", "there is no directory", "make it")
    end)

    it("accepts compressed ones to read, and refuses to write such", function()
      accepted("pcap:rx=" .. write("a.gz", "\031\139 and so on"))
      accepted("pcap:rx=" .. write("a.zst", "\040\181\047\253 and so on"))
      refused("pcap:tx=" .. tree.base .. "/b.gz", "tx isn't compressed", "without .gz")
      refused("pcap:tx=" .. tree.base .. "/b.pcap.zst", "tx isn't compressed")
    end)

    it("refuses to loop what can't be read again", function()
      accepted("pcap:rx=/dev/null")
      refused("pcap:rx=/dev/null,loop=1", "can't be read again", "needs a file")
    end)

    it("refuses to write the file that it reads", function()
      local file = write("a.pcap", HEADERS.pcap)
      refused(("pcap:rx=%s,tx=%s/./a.pcap"):format(file, tree.base), "the same file")
    end)
  end)

  describe("PCI devices", function()
    it("accepts one bound to vfio-pci or to mlx5_core", function()
      tree.device("0000:01:00.0", {driver = "vfio-pci", group = "12"})
      tree.write("dev/vfio/12", "")
      accepted("01:00.0")
      tree.device("0000:02:00.0", {driver = "mlx5_core", interface = "eth2"})
      accepted("02:00.0")
    end)

    local function refused_device(...) refused("0000:01:00.0", ...) end

    it("refuses one that isn't there or isn't a network device", function()
      tree.device("0000:03:00.0")
      refused_device("there is no PCI device 0000:01:00.0", "here: 0000:03:00.0")
      tree.device("0000:01:00.0", {class = "0x010802"})
      refused_device("isn't a network device", "here: 0000:03:00.0")
    end)

    it("names the kernel driver, and says how to bind to vfio-pci", function()
      tree.device("0000:01:00.0", {driver = "ixgbe", interface = "eth1"})
      refused_device("the kernel driver 'ixgbe' has the device",
        "perigee pci_bind -u 0000:01:00.0 --do", "xdp:eth1 or packet:eth1")
    end)

    it("refuses one without a driver", function()
      tree.device("0000:01:00.0")
      refused_device("has no kernel driver; bind it to vfio-pci with: perigee pci_bind")
    end)

    it("refuses one whose interface carries the default route", function()
      tree.device("0000:01:00.0", {driver = "mlx5_core", interface = "eth1"})
      tree.write("proc/net/route",
        "eth1\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n")
      refused_device("the default route goes over 'eth1'")
    end)

    it("finds the interface of a virtio device", function()
      tree.device("0000:01:00.0", {driver = "virtio-pci",
        ["virtio2/net/eth1/mtu"] = "1500"})
      refused_device("'virtio-pci' has the device", "xdp:eth1")
    end)

    it("refuses one whose VFIO group can't be opened", function()
      tree.device("0000:01:00.0", {driver = "vfio-pci", group = "12"})
      refused_device("dev/vfio/12 can't be opened")
    end)
  end)

  describe("sockets", function()
    local socket = require("posix.sys.socket")
    local unistd = require("posix.unistd")
    local descriptor
    after_each(function()
      if descriptor then unistd.close(descriptor) end
      descriptor = nil
    end)
    local function make_socket(name)
      local path = tree.base .. "/" .. name
      descriptor = assert(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0))
      assert(socket.bind(descriptor, {family = socket.AF_UNIX, path = path}))
      assert(socket.listen(descriptor, 1))
      return path
    end

    it("accepts a directory that is there", function()
      accepted("memif:" .. tree.base .. "/m")
      accepted("memif:" .. tree.base .. "/m,role=server")
      accepted("vhost:" .. tree.base .. "/v")
      accepted("virtio-user:" .. tree.base .. "/v,server=1")
    end)

    it("refuses a directory that isn't", function()
      local path = tree.base .. "/none/s"
      for _, text in ipairs {"memif:", "vhost:", "virtio-user:"} do
        refused(text .. path, "there is no directory", "make it first")
      end
      refused("memif:" .. path .. ",role=server", "there is no directory")
    end)

    it("refuses to connect virtio-user to no socket", function()
      refused("virtio-user:" .. tree.base .. "/v", "no socket", "start the process")
      accepted("virtio-user:" .. make_socket("v"))
    end)

    it("tells a socket that is served from one that was left behind", function()
      local path = make_socket("s")
      refused("memif:" .. path .. ",role=server", "no process is known", "rm " .. path)
      tree.write("proc/net/unix", "Num       RefCount Protocol Flags    Type St Inode"
        .. " Path\n0000000000000000: 00000002 00000000 00010000 0001 01 76 " .. path
        .. "\n")
      refused("vhost:" .. path, "another process serves the socket")
    end)

    it("accepts one whose process, which is ending, ends meanwhile", function()
      local path = make_socket("s")
      tree.write("proc/net/unix", "0000000000000000: 00000002 00000000 00010000 0001 01"
        .. " 76 " .. path .. "\n")
      standby.await(function ()
        tree.write("proc/net/unix", "")
        unistd.close(descriptor)
        descriptor = nil
      end)
      accepted("vhost:" .. path)
    end)

    it("accepts one whose process has ended", function()
      local path = make_socket("s")
      unistd.close(descriptor)
      descriptor = nil
      accepted("memif:" .. path .. ",role=server")
      accepted("vhost:" .. path)
    end)

    it("refuses to serve on what isn't a socket", function()
      refused("vhost:" .. write("v", "x"), "isn't a socket; use another path")
    end)
  end)
end)
