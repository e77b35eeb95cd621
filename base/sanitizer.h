/* Defines WEIR_HAS_SANITIZER in builds with a sanitizer. */
#ifndef WEIR_BASE_SANITIZER_H
#define WEIR_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEIR_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define WEIR_HAS_SANITIZER 1
#endif
#endif

#endif
