# Puts the page of `weir report` together: cmake -DWEB=report/web -DOUT=report_page.html -P page.cmake
#
# Style and script stand in the page, which names their hashes in its Content-Security-Policy: nothing else can style
# the page or run in it. One marker is left, WEIR_DATA, in whose place the report writes its JSON.
cmake_minimum_required(VERSION 3.25)

set(styles vendor/uplot/uPlot.min.css style.css)
set(scripts vendor/uplot/uPlot.iife.min.js data.js heatmap.js flame.js tables.js curves.js sweep.js page.js)

function(read_all result)
  set(all "")
  foreach(name IN LISTS ARGN)
    file(READ ${WEB}/${name} text)
    string(APPEND all "${text}")
  endforeach()
  if("${all}" MATCHES "</[sS][tTcC]|<!--") # the browser would end the element, or take the rest for a comment
    message(FATAL_ERROR "a part of the page contains the end of its element")
  endif()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# The SHA-256 of text in base 64, as a Content-Security-Policy has it: three bytes are four digits.
function(hash_of text result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  set(base64 "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}00" ${at} 6 six)
    math(EXPR value "0x${six}")
    foreach(shift 18 12 6 0)
      math(EXPR digit "(${value} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 digit)
      string(APPEND base64 "${digit}")
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" base64 "${base64}") # 32 bytes: the last digit is one of padding
  set(${result} "${base64}" PARENT_SCOPE)
endfunction()

read_all(style ${styles})
read_all(script ${scripts})
hash_of("${style}" style_hash)
hash_of("${script}" script_hash)
file(READ ${WEB}/page.html page)
string(REPLACE "WEIR_CSS_HASH" "${style_hash}" page "${page}")
string(REPLACE "WEIR_JS_HASH" "${script_hash}" page "${page}")
string(REPLACE "/*WEIR_CSS*/" "${style}" page "${page}")
string(REPLACE "/*WEIR_JS*/" "${script}" page "${page}")
string(REGEX MATCHALL "WEIR_DATA" markers "${page}")
list(LENGTH markers count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "the page has ${count} places for its data")
endif()
file(WRITE ${OUT} "${page}")
