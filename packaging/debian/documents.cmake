# What Debian's policy wants below /usr/share of each package. CPack runs this after it has
# installed the files, before it packs them.
file(GLOB trees LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(tree ${trees})
  get_filename_component(component ${tree} NAME)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(share ${tree}/usr/share)
  set(documents ${share}/doc/${package})
  file(MAKE_DIRECTORY ${documents})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${documents}/copyright COPYONLY)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/changelog ${documents}/changelog COPYONLY)
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${package}.lintian-overrides)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/${package}.lintian-overrides
      ${share}/lintian/overrides/${package} COPYONLY)
  endif()
  file(REMOVE ${documents}/LICENSE)  # copyright says it
  file(GLOB pages ${share}/man/*/*)
  execute_process(COMMAND gzip -9 -n ${documents}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
