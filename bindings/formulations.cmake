# the extension module dualstep._formulations; needs pybind11 and the target dualstep_formulations
pybind11_add_module(_formulations NO_EXTRAS
  "${CMAKE_CURRENT_LIST_DIR}/formulations.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/formulations_smooth.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/formulations_laws.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/formulations_contacts.cpp"
)
dualstep_unity(_formulations 2)
target_link_libraries(_formulations PRIVATE dualstep_formulations)
target_compile_options(_formulations PRIVATE -Wall -Wextra -ffp-contract=off)
install(TARGETS _formulations DESTINATION dualstep)
if(NOT SKBUILD)
  # a build by hand puts the module beside the Python sources
  set_target_properties(_formulations PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/python/dualstep")
endif()
