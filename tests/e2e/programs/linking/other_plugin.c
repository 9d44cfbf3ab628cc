/* What the shim finds where a plug-in of another version was installed (coord/plugin.h). */
struct plugin {
  unsigned version;
};

const struct plugin* zazen_plugin(void) {
  static const struct plugin other = {99};
  return &other;
}
