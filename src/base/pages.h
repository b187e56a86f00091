// Memory for large tables that goes back to the system as soon as it is freed.
//
// malloc keeps what was freed for the next user: for 128 KB and less always, and for more once a
// program has freed something as large. What is built once and then thrown away, as the bytes of a
// map of 100,000 shards are, would stay part of the process.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"

namespace shardmanager {

// For standard containers. Large pieces are mapped, and unmapped when they are freed; smaller ones
// come from std::allocator. What a container reserves and does not use takes no memory.
template <typename T>
class PageAllocator {
 public:
  using value_type = T;

  PageAllocator() = default;
  template <typename Other>
  PageAllocator(const PageAllocator<Other>&) {}

  T* allocate(size_t count) {
    if (!IsMapped(count)) return std::allocator<T>().allocate(count);
    void* pages = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SM_CHECK(pages != MAP_FAILED, "there is memory");
    return static_cast<T*>(pages);
  }
  void deallocate(T* data, size_t count) {
    if (!IsMapped(count)) return std::allocator<T>().deallocate(data, count);
    munmap(data, count * sizeof(T));
  }

  template <typename Other>
  friend bool operator==(const PageAllocator&, const PageAllocator<Other>&) {
    return true;
  }

 private:
  static constexpr size_t kLeastBytes = 64 << 10;
  // More than any object may have is left to std::allocator, which refuses it.
  static bool IsMapped(size_t count) {
    return count >= kLeastBytes / sizeof(T) && count <= PTRDIFF_MAX / sizeof(T);
  }
};

template <typename T>
using PageVector = std::vector<T, PageAllocator<T>>;
using PageString = std::basic_string<char, std::char_traits<char>, PageAllocator<char>>;

}  // namespace shardmanager
