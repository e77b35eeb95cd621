# What every target of weir is built with, and the helpers that declare layers and tests.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

add_library(weir_flags INTERFACE)
target_compile_definitions(weir_flags INTERFACE _GNU_SOURCE WEIR_VERSION="${PROJECT_VERSION}")
target_include_directories(weir_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/uapi)
target_compile_options(weir_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wno-missing-field-initializers -fno-strict-aliasing
  -fno-common)
# What is built does not depend on the folder that it is built in: assertions name files as they are called here.
target_compile_options(weir_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=>)
if(WEIR_WERROR)
  target_compile_options(weir_flags INTERFACE -Werror)
endif()
if(WEIR_SANITIZE)
  target_compile_definitions(weir_flags INTERFACE WEIR_TEST_POINTS) # engine/kernel/test_point.h
  target_compile_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=undefined)
  target_link_options(weir_flags INTERFACE -fsanitize=${WEIR_SANITIZE})
endif()
if(WEIR_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "WEIR_FUZZ needs clang, whose libFuzzer it uses; this is ${CMAKE_C_COMPILER_ID}")
  endif()
  # Everything reports its coverage to libFuzzer, which only the targets in tests/fuzz link.
  target_compile_options(weir_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(weir_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_libraries(weir_flags INTERFACE Threads::Threads)

# weir_optimize_checked(TARGET...)
# Under AddressSanitizer, optimizes a little: for what runs so often in tests that the time to compile it comes back.
function(weir_optimize_checked)
  if(WEIR_SANITIZE MATCHES "address")
    foreach(name ${ARGN})
      target_compile_options(${name} PRIVATE -O1)
    endforeach()
  endif()
endfunction()

# weir_layer(NAME SOURCES file... [LAYERS layer...] [PKG pkg-config-module...] [LIBS library...])
# Declares the static library weir_NAME. PKG and LIBS stay private to the layer: no other layer sees those headers.
function(weir_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LAYERS;PKG;LIBS" ${ARGN})
  add_library(weir_${name} STATIC ${ARG_SOURCES})
  weir_optimize_checked(weir_${name})
  target_link_libraries(weir_${name} PUBLIC weir_flags)
  foreach(layer ${ARG_LAYERS})
    target_link_libraries(weir_${name} PUBLIC weir_${layer})
  endforeach()
  foreach(module ${ARG_PKG})
    string(MAKE_C_IDENTIFIER ${module} id)
    pkg_check_modules(PC_${id} REQUIRED IMPORTED_TARGET ${module})
    target_link_libraries(weir_${name} PRIVATE PkgConfig::PC_${id})
  endforeach()
  target_link_libraries(weir_${name} PRIVATE ${ARG_LIBS})
endfunction()

# weir_criterion_test(NAME SOURCES file... LAYERS layer... [LABELS label...] [TIMEOUT s] [ENV VAR=value...])
# One Criterion program, one ctest entry of the same name. Criterion cannot start under ThreadSanitizer: skipped there.
function(weir_criterion_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LAYERS;LABELS;ENV" ${ARGN})
  if(WEIR_SANITIZE MATCHES "thread")
    return()
  endif()
  pkg_check_modules(CRITERION REQUIRED IMPORTED_TARGET criterion)
  weir_test_program(${name} SOURCES ${ARG_SOURCES} LAYERS ${ARG_LAYERS} LABELS ${ARG_LABELS}
    TIMEOUT ${ARG_TIMEOUT} ENV ${ARG_ENV} CRITERION)
endfunction()

# weir_use_criterion(TARGET)
function(weir_use_criterion name)
  target_link_libraries(${name} PRIVATE PkgConfig::CRITERION)
  # Criterion's macros trip these; nothing of ours relies on them being quiet.
  target_compile_options(${name} PRIVATE -Wno-shadow -Wno-missing-prototypes)
endfunction()

# weir_test_helper(TEST FILE [CRITERION]): links FILE to the test. It is compiled once for all tests that have it, and
# once more for those of Criterion.
function(weir_test_helper name file)
  cmake_parse_arguments(ARG "CRITERION" "" "" ${ARGN})
  get_filename_component(file ${file} ABSOLUTE)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${file})
  string(MAKE_C_IDENTIFIER ${path} helper)
  if(ARG_CRITERION)
    string(APPEND helper _criterion)
  endif()
  if(NOT TARGET ${helper})
    add_library(${helper} OBJECT ${file})
    target_link_libraries(${helper} PRIVATE weir_flags)
    target_compile_options(${helper} PRIVATE $<$<CONFIG:Release>:-O1>)
    weir_optimize_checked(${helper})
    if(ARG_CRITERION)
      weir_use_criterion(${helper})
    endif()
  endif()
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:${helper}>)
endfunction()

# Links tests, some hundred programs, in half the time.
find_program(WEIR_GOLD ld.gold)

# weir_test_program(NAME SOURCES file... LAYERS layer... [LABELS label...] [TIMEOUT s] [ENV VAR=value...] [ARGS arg...])
#                   [CRITERION])
# A plain test program: exit status 0 passes, 77 is a named skip. Also runs under ThreadSanitizer. The first source is
# the test itself, the others are its helpers.
function(weir_test_program name)
  cmake_parse_arguments(ARG "CRITERION" "TIMEOUT" "SOURCES;LAYERS;LABELS;ENV;ARGS" ${ARGN})
  if("bench" IN_LIST ARG_LABELS) # what is measured or shipped is built as it is shipped; tests compile faster so
    add_executable(${name} ${ARG_SOURCES})
  else()
    list(POP_FRONT ARG_SOURCES itself)
    set(criterion "")
    if(ARG_CRITERION)
      set(criterion CRITERION)
    endif()
    add_executable(${name} ${itself})
    foreach(file ${ARG_SOURCES})
      weir_test_helper(${name} ${file} ${criterion})
    endforeach()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    if(WEIR_GOLD)
      target_link_options(${name} PRIVATE -fuse-ld=gold)
    endif()
  endif()
  target_link_libraries(${name} PRIVATE weir_flags)
  if(ARG_CRITERION)
    weir_use_criterion(${name})
  endif()
  foreach(layer ${ARG_LAYERS})
    target_link_libraries(${name} PRIVATE weir_${layer})
  endforeach()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # ctest runs programs side by side. Of more than one worker, Criterion 2.4.1 loses 48 bytes when the machine is busy,
  # and LeakSanitizer reports them.
  if(ARG_CRITERION)
    list(APPEND ARG_ENV CRITERION_JOBS=1)
  endif()
  # Made-up /proc, /sys and tracefs are thousands of small files, for which a file system in memory takes a quarter of
  # the time. Tests of io/ are about the disk.
  if(IS_DIRECTORY /dev/shm AND NOT "io" IN_LIST ARG_LAYERS)
    list(APPEND ARG_ENV TMPDIR=/dev/shm)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77 LABELS "${ARG_LABELS}"
    ENVIRONMENT "${ARG_ENV}")
endfunction()

# Without both, a build has no BPF programs of its own, and says so when asked for them.
if(WEIR_BPF)
  find_program(WEIR_CLANG clang)
  find_program(WEIR_BPFTOOL bpftool)
endif()

# weir_bpf_skeleton(TARGET FOLDER NAME HEADER): compiles FOLDER/NAME.bpf.c into the array weir_NAME_skeleton of the
# target, which HEADER declares; the array has no bytes where this build has no BPF programs. clang knows neither the
# headers of this machine's architecture by itself nor has to: asm/ of another one would do. bpftool drops what only
# debuggers read.
function(weir_bpf_skeleton target folder name header)
  set(object "")
  set(source ${PROJECT_SOURCE_DIR}/${folder}/${name}.bpf.c)
  set(c ${CMAKE_CURRENT_BINARY_DIR}/${name}_skeleton.c)
  if(WEIR_CLANG AND WEIR_BPFTOOL)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
    pkg_get_variable(libbpf_headers libbpf includedir)
    add_custom_command(OUTPUT ${object} DEPFILE ${object}.d DEPENDS ${source} VERBATIM
      COMMAND ${WEIR_CLANG} -target bpf -mcpu=v2 -O2 -g -Wall -Werror -fno-ident
              -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fdebug-compilation-dir=.
              -idirafter /usr/include/${CMAKE_C_LIBRARY_ARCHITECTURE} -I ${PROJECT_SOURCE_DIR} -I ${libbpf_headers}
              -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}.whole
      COMMAND ${WEIR_BPFTOOL} gen object ${object} ${object}.whole)
  endif()
  add_custom_command(OUTPUT ${c} DEPENDS ${object} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM
    COMMAND ${CMAKE_COMMAND} -DINPUT=${object} -DOUTPUT=${c} -DHEADER=${header} -DNAME=weir_${name}_skeleton
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  target_sources(${target} PRIVATE ${c})
endfunction()

# weir_optional_part(NAME BUILT WHAT): a part that this program is built with or without; `weir version` tells of it.
function(weir_optional_part name built what)
  if(built)
    set(built true)
  else()
    set(built false)
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY WEIR_BUILD_PARTS "{\"${name}\", ${built}, \"${what}\"}, ")
endfunction()

# weir_write_build_facts(FILE): the commit and the optional parts, as C. git archive writes the commit into commit.txt.
function(weir_write_build_facts file)
  file(READ ${CMAKE_SOURCE_DIR}/cmake/commit.txt WEIR_COMMIT)
  string(STRIP "${WEIR_COMMIT}" WEIR_COMMIT)
  if(WEIR_COMMIT MATCHES "Format")
    set(WEIR_COMMIT "")
    find_program(WEIR_GIT git)
    if(WEIR_GIT AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
      execute_process(COMMAND ${WEIR_GIT} -C ${CMAKE_SOURCE_DIR} log -1 --format=%h
        OUTPUT_VARIABLE WEIR_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
  get_property(WEIR_BUILD_PARTS GLOBAL PROPERTY WEIR_BUILD_PARTS)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/build_facts.h.in ${file} @ONLY)
endfunction()
