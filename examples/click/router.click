// An IPv4 router between two networks: ARP, time to live, redirects of errors as ICMP.
//
//   perigee click router.click --device 0=packet:eth1 --device 1=packet:eth2

AddressInfo(a 10.0.1.1/24 02:00:00:00:01:01, b 10.0.2.1/24 02:00:00:00:02:01)

// A port: ARP requests are answered, replies learnt; [0] IP packets for the router.
// What comes in by [0] goes out to the address that the lookup has found.
elementclass Side { $port, $me |
  FromDPDKDevice($port) -> kind :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -)
  out :: ToDPDKDevice($port)
  arp :: ARPQuerier($me)
  kind [0] -> ARPResponder($me) -> out
  kind [1] -> [1] arp
  kind [2] -> Strip(14) -> check :: CheckIPHeader -> [0] output
  kind [3] -> Discard
  input -> DropBroadcasts -> ttl :: DecIPTTL -> mtu :: IPFragmenter(1500) -> arp -> out
  ttl [1] -> ICMPError($me, timeexceeded) -> [1] output
  mtu [1] -> ICMPError($me, unreachable, needfrag) -> [1] output
}

left :: Side(0, a)
right :: Side(1, b)

routes :: StaticIPLookup(a/32 2, b/32 2, a:ipnet 0, b:ipnet 1, 0/0 3)

left, right => routes, routes
left [1] -> routes
right [1] -> routes

routes [0] -> left
routes [1] -> right
routes [2] -> ICMPPingResponder -> routes
routes [3] -> unroutable :: Discard
