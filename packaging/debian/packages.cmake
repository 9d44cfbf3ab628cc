# The .deb files: cmake --build --preset release --target package
#
# zazen has what programs and people use, zazend the daemon of a node, libbodhi-dev what writers
# link, python3-zazen the Python package. Each install() belongs to a component, by its COMPONENT or by its
# folder's CMAKE_INSTALL_DEFAULT_COMPONENT_NAME; CPack makes one package of each.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL zazen zazend bodhi python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/documents.cmake)
set(CPACK_PACKAGE_VENDOR "The Zazen authors")
set(CPACK_PACKAGE_CONTACT "The Zazen authors <authors@zazen.invalid>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_ZAZEN_PACKAGE_NAME zazen)
set(CPACK_DEBIAN_ZAZEN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_DEBIAN_ZAZEN_PACKAGE_SUGGESTS "zazend (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_ZAZEN_DESCRIPTION
"reads trajectory frames from the nodes' local disks
The library libzazen.so sends an unmodified program's opens of trajectory
frames to copies on a local disk, and gives each rank of an MPI program its
own frames. zazenctl runs programs with it, and steers the cache.")

set(CPACK_DEBIAN_ZAZEND_PACKAGE_NAME zazend)
set(CPACK_DEBIAN_ZAZEND_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_ZAZEND_PACKAGE_DEPENDS "zazen (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_ZAZEND_PACKAGE_SUGGESTS munge)
foreach(script postinst prerm postrm)
  list(APPEND CPACK_DEBIAN_ZAZEND_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/${script})
endforeach()
set(CPACK_DEBIAN_ZAZEND_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_ZAZEND_DESCRIPTION
"cache daemon for trajectory frames
The daemon of a node keeps copies of trajectory frames on a local disk, for
one user or for all users of the node.")

set(CPACK_DEBIAN_BODHI_PACKAGE_NAME libbodhi-dev)
set(CPACK_DEBIAN_BODHI_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_BODHI_PACKAGE_DEPENDS "zazen (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_BODHI_DESCRIPTION
"pushes frames to analysis nodes while a simulation runs
The C library libbodhi writes frames to the caches of analysis nodes, and
reads them. The package also has zazen.h, by which an MPI program asks which
frames it is to read.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-zazen)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.9), zazen (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-mpi4py)
foreach(script postinst prerm)
  list(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/python/${script})
endforeach()
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
"tells Python programs which trajectory frames to read
The Python package zazen gives each rank of an MPI program its own frames,
and has the answers of zazenctl as dictionaries.")
include(CPack)
