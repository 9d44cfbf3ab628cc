/* A plug-in of another version than the shim's (coord/plugin.h). */
struct plugin {
  unsigned version;
};

const struct plugin* zazen_plugin(void) {
  static const struct plugin other = {99};
  return &other;
}
