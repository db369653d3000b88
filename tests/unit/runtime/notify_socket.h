#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {

/// The datagram socket systemd would listen on, named in $NOTIFY_SOCKET.
class NotifySocket {
 public:
  NotifySocket() : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string path = directory_.path() / "notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      std::abort();
    }
    timeval limit{};
    limit.tv_sec = 10;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(fd_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  /// The next message; "nothing received" when none comes in time.
  std::string receive() const { return receive_with(0); }
  /// The same, without waiting.
  std::string receive_now() const { return receive_with(MSG_DONTWAIT); }

 private:
  std::string receive_with(int flags) const {
    std::string message(4096, '\0');
    const ssize_t length = ::recv(fd_, message.data(), message.size(), flags);
    if (length < 0) {
      return "nothing received";
    }
    message.resize(static_cast<std::size_t>(length));
    return message;
  }

  TemporaryDirectory directory_;
  int fd_;
};

}  // namespace gpuskew
