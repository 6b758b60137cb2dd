# SPDX-License-Identifier: Apache-2.0
"""Other programs that do work which Perigee does, for bench/run peers: a module each, with
NAME, HOW (how to get it) and find(folder), which gives an object or None. That has `works`,
{work: the bursts it does it in}, and `cycles(work, burst, seconds)`: TSC cycles of CPU time
a packet of one process."""
