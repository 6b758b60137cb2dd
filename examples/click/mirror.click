// Sends each frame back to where it came from.
//
//   perigee click mirror.click --device 0=packet:eth1

FromDPDKDevice(0) -> EtherMirror -> back :: Counter -> ToDPDKDevice(0)
