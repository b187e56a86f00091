#include "shardmanager/routing.h"

namespace shardmanager {
namespace {

std::string BigEndian(uint64_t number, size_t bytes) {
  std::string key(bytes, '\0');
  for (size_t i = bytes; i-- > 0; number >>= 8) key[i] = static_cast<char>(number & 0xff);
  return key;
}

}  // namespace

std::string NumberKey(uint64_t number) { return BigEndian(number, 8); }

std::string NumberKey32(uint32_t number) { return BigEndian(number, 4); }

std::optional<uint64_t> ParseNumberKey(std::string_view key) {
  if (key.size() != 8) return std::nullopt;
  uint64_t number = 0;
  for (const char byte : key) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

}  // namespace shardmanager
