// The executor's answer to Hello, and its end.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "service.h"

namespace openreg::process {

int serve(const Descriptor& socket) {
  Message message;
  if (!receiveMessage(socket, message)) {
    return 0;
  }
  const auto* hello = message.as<Hello>(kMagic);
  Welcome welcome;
  const auto refuse = [&](const std::string& text) {
    welcome.error = orErrorDriver;
    text.copy(welcome.text, sizeof(welcome.text) - 1);
    sendMessage(socket, &welcome, sizeof(welcome));
    return 1;
  };
  if (hello == nullptr || message.descriptors.size() != kDescriptors) {
    return refuse(
        "Hello has " + std::to_string(message.bytes.size()) + " bytes and " +
        std::to_string(message.descriptors.size()) + " descriptors; expected " + std::to_string(sizeof(Hello)) +
        " with the magic number, and " + std::to_string(kDescriptors));
  }
  if (hello->version != kProtocolVersion) {
    return refuse(
        "the host speaks version " + std::to_string(hello->version) + " of the protocol; expected " +
        std::to_string(kProtocolVersion));
  }
  setenv("OPENREG_SIM", hello->options, 1); // What the host has read, whatever its environment is now.
  Service* service = nullptr;
  try {
    service = new Service(socket, *hello, std::move(message.descriptors)); // Never deleted: workers use it to the end.
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
  sendMessage(socket, &welcome, sizeof(welcome));
  try {
    service->run();
  } catch (const std::exception& error) { // Garbled, as a rule.
    std::snprintf(service->deviceBoard().lastWords, sizeof(DeviceBoard::lastWords), "%s", error.what());
    _exit(3);
  }
}

} // namespace openreg::process
