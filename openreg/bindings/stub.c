// The extension module. Its only work is to exist under the name Python looks for: everything is in
// libtorch_openreg_bindings.so, a library that other C++ code can link against too. It is not linked to this file:
// loading it runs its static initialisers, so PyTorch's version has to be compared before that.
#include <Python.h>
#include <dlfcn.h>
#include <string.h>

// LITERALINCLUDE START: VERSION FIRST
// Returns whether the installed PyTorch is the one that this was compiled for; if not, an ImportError is set. Between
// versions the classes of PyTorch's C++ change their layout, and functions go away.
static int versionFits(void) {
  PyObject* torch = PyImport_ImportModule("torch");
  PyObject* version = torch == NULL ? NULL : PyObject_GetAttrString(torch, "__version__");
  const char* text = version == NULL ? NULL : PyUnicode_AsUTF8AndSize(version, NULL);
  // A build of a version has a name behind a plus sign: 2.13.0+cpu.
  const int fits = text != NULL && strcspn(text, "+") == strlen(BUILT_FOR_TORCH) &&
                   strncmp(text, BUILT_FOR_TORCH, strlen(BUILT_FOR_TORCH)) == 0;
  if (text != NULL && !fits) {
    PyErr_Format(
        PyExc_ImportError,
        "torch_openreg was built against torch %s, but torch %s is installed; "
        "rebuild it with: pip install --no-build-isolation .",
        BUILT_FOR_TORCH, text);
  }
  Py_XDECREF(version);
  Py_XDECREF(torch);
  return fits;
}

// LITERALINCLUDE START: PYTHON FITS
// Returns whether this is the Python that the libraries were compiled for; if not, an ImportError is set. This file is
// compiled for all versions, so it can say what is wrong where the other libraries could only crash.
static int pythonFits(void) {
  const int fits = Py_Version >> 16 == PY_VERSION_HEX >> 16; // major and minor
  if (!fits) {
    PyErr_Format(
        PyExc_ImportError, "torch_openreg was built for Python %d.%d, but this is Python %d.%d", PY_MAJOR_VERSION,
        PY_MINOR_VERSION, (int)(Py_Version >> 24), (int)(Py_Version >> 16 & 0xff));
  }
  return fits;
}
// LITERALINCLUDE END: PYTHON FITS

PyMODINIT_FUNC PyInit__C(void) {
  // LITERALINCLUDE START: PYTHON FIRST
  if (!pythonFits()) {
    return NULL;
  }
  // LITERALINCLUDE END: PYTHON FIRST
  if (!versionFits()) {
    return NULL;
  }
  // Found beside this file, in lib, and never closed: PyTorch keeps pointers into it.
  void* library = dlopen("libtorch_openreg_bindings.so", RTLD_NOW | RTLD_LOCAL);
  PyObject* (*initOpenRegModule)(void) = NULL;
  if (library != NULL) {
    *(void**)&initOpenRegModule = dlsym(library, "initOpenRegModule");
  }
  if (initOpenRegModule == NULL) {
    PyErr_SetString(PyExc_ImportError, dlerror());
    return NULL;
  }
  return initOpenRegModule();
}
// LITERALINCLUDE END: VERSION FIRST
