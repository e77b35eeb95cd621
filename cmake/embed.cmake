# cmake -DINPUT=page.html -DOUTPUT=page.c -P embed.cmake: writes a file into C, for report/page.h.
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR bytes "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE ${OUTPUT}
  "#include \"report/page.h\"\n\nconst size_t weir_page_bytes = ${bytes};\nconst uint8_t weir_page[] = {${hex}};\n")
