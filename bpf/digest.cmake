# SPDX-License-Identifier: Apache-2.0
# cmake -DOBJECT=FILE -DHEADER=FILE -P digest.cmake: SHA-256 as C arrays, of the object, and of what lays out its maps and
# memory: programs of the same layout can take the place of each other. The first is compared at each start, and computing it
# there would be a third of all that a start costs.
function(array name digest)
  string(REGEX REPLACE "(..)" "0x\\1, " bytes ${digest})
  file(APPEND ${HEADER} "static const unsigned char ${name}[32] = {${bytes}};\n")
endfunction()

file(WRITE ${HEADER} "")
file(SHA256 ${OBJECT} digest)
array(sbpf_object_sha256 ${digest})
foreach(source abi.h abi_policy.h abi_dns.h abi_event.h hooks.h maps.h maps.bpf.c)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${source} text)
  # What is written about the layout is not the layout.
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" " " text "${text}")
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "[ \t\n]+" " " text "${text}")
  string(SHA256 digest "${text}")
  string(APPEND sources ${digest})
endforeach()
string(SHA256 digest "${sources}")
array(sbpf_layout_sha256 ${digest})
