# cmake -DINPUT=FILE -DOUTPUT=FILE.c -DHEADER=x.h -DNAME=weir_x -P embed.cmake: writes a file into C, as the array NAME
# and its size NAME_bytes, which HEADER declares. INPUT empty: no bytes.
set(bytes 0)
set(hex "0")
if(INPUT)
  file(READ ${INPUT} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
endif()
file(WRITE ${OUTPUT}
  "#include \"${HEADER}\"\n\nconst size_t ${NAME}_bytes = ${bytes};\nconst uint8_t ${NAME}[] = {${hex}};\n")
