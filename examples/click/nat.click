// Address translation: hosts inside share the address of the port outside.
//
//   perigee click nat.click --device 0=packet:eth1 --device 1=packet:eth2

define($GATEWAY 192.0.2.254)

AddressInfo(inside 10.0.0.1/24 02:00:00:00:00:01, outside 192.0.2.1/24 02:00:00:00:00:02)

elementclass Port { $port, $me |
  FromDPDKDevice($port) -> kind :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -)
  out :: ToDPDKDevice($port)
  arp :: ARPQuerier($me)
  kind [0] -> ARPResponder($me) -> out
  kind [1] -> [1] arp
  kind [2] -> Strip(14) -> CheckIPHeader -> output
  kind [3] -> Discard
  input -> arp -> out
}

in :: Port(0, inside)
out :: Port(1, outside)

nat :: IPRewriter(pattern outside 1024-65535 - - 0 1, drop)

pings :: ICMPPingRewriter(pattern outside 1024-65535 - - 0 1, drop)

in -> protocol :: IPClassifier(tcp or udp, icmp type echo, -)
protocol [0] -> [0] nat
protocol [1] -> [0] pings
protocol [2] -> notTranslated :: Discard
out -> answers :: IPClassifier(tcp or udp, icmp type echo-reply, -)
answers [0] -> [1] nat
answers [1] -> [1] pings
answers [2] -> Discard

toGateway :: SetIPAddress($GATEWAY) -> out
toHost :: GetIPAddress(16) -> in
nat [0] -> toGateway
nat [1] -> toHost
pings [0] -> toGateway
pings [1] -> toHost
