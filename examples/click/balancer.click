// A load balancer: connections to one address go to four servers, in turn, and each
// stays with its server.
//
//   perigee click balancer.click --device 0=packet:eth1

define($SERVICE 10.0.0.80, $GATEWAY 10.0.0.254)

AddressInfo(me 10.0.0.80/24 02:00:00:00:00:80)

FromDPDKDevice(0) -> kind :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -)
out :: ToDPDKDevice(0)
arp :: ARPQuerier(me) -> out
kind [0] -> ARPResponder(me) -> out
kind [1] -> [1] arp
kind [3] -> Discard

servers :: RoundRobinIPMapper(
  - - 10.0.0.11 - 0 1, - - 10.0.0.12 - 0 1, - - 10.0.0.13 - 0 1, - - 10.0.0.14 - 0 1)
balance :: IPRewriter(servers, drop)

kind [2] -> Strip(14) -> CheckIPHeader
  -> way :: IPClassifier(dst host $SERVICE && tcp, src net 10.0.0.0/24 && tcp, -)
way [0] -> [0] balance
way [1] -> [1] balance
way [2] -> Discard

balance [0] -> GetIPAddress(16) -> arp
balance [1] -> SetIPAddress($GATEWAY) -> arp
