// A firewall in a line: from outside only answers, pings and a server's ports pass.
//
//   perigee click firewall.click --device 0=packet:eth1 --device 1=packet:eth2

define($SERVER 10.0.1.80)

FromDPDKDevice(0) -> sent :: Counter -> ToDPDKDevice(1)

FromDPDKDevice(1)
  -> kind :: Classifier(12/0800, 12/0806, -)
  -> Strip(14) -> CheckIPHeader
  -> rules :: IPFilter(
       allow tcp && not syn,
       allow tcp && ack,
       allow dst host $SERVER && (dst tcp port 80 || dst tcp port 443),
       allow icmp type echo || icmp type echo-reply,
       allow src udp port 53,
       deny all)
  -> Unstrip(14) -> passed :: Counter -> to :: ToDPDKDevice(0)
kind [1] -> to
kind [2] -> other :: Counter -> Discard
