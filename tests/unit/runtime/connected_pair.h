#pragma once

#include <utility>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

namespace gpuskew {

/// Two ends of a TCP connection over 127.0.0.1.
inline std::pair<asio::ip::tcp::socket, asio::ip::tcp::socket> connected_pair(asio::io_context& io) {
  using asio::ip::tcp;
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket client(io);
  client.connect(acceptor.local_endpoint());
  tcp::socket server = acceptor.accept();
  return std::pair(std::move(server), std::move(client));
}

}  // namespace gpuskew
