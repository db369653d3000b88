#include "tests/unit/agent/boot_tree.h"

#include <cstring>

namespace gpuskew {
namespace {

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  if (bytes.size() < offset + sizeof(T)) {
    bytes.resize(offset + sizeof(T));
  }
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

std::string entry(const std::string& title, const std::string& id, const std::string& release, std::string_view boot) {
  return "menuentry '" + title + "' --class debian --class os $menuentry_id_option '" + id +
         "' {\n\tload_video\n\tif [ x$grub_platform = xxen ]; then insmod xzio; fi\n\tset root='hd0,gpt2'\n" +
         "\tif [ x$feature_platform_search_hint = xy ]; then\n\t  search --fs-uuid --set=root --hint=hd0,gpt2 12-34\n" +
         "\telse\n\t  search --fs-uuid --set=root 12-34\n\tfi\n\techo\t'Loading Linux " + release + " ...'\n\tlinux\t" +
         std::string(boot) + "/vmlinuz-" + release + " root=UUID=12-34 ro  quiet\n\tinitrd\t" + std::string(boot) +
         "/initrd.img-" + release + "\n}\n";
}

}  // namespace

std::string bzimage(std::string_view release) {
  std::string bytes(0x400, '\0');
  std::memcpy(bytes.data() + 0x202, "HdrS", 4);
  put(bytes, 0x20e, std::uint16_t{0x200});  // counted from 0x200
  return bytes + std::string(release) + " (builder@host) #1 SMP PREEMPT_DYNAMIC" + std::string(64, '\0');
}

std::string unified_image(const std::vector<std::pair<std::string, std::string>>& sections) {
  constexpr std::size_t kPe = 0x80;
  constexpr std::size_t kFirst = 0x1000;
  std::string bytes(kFirst, '\0');
  bytes[0] = 'M';
  bytes[1] = 'Z';
  put(bytes, 0x3c, std::uint32_t{kPe});
  std::memcpy(bytes.data() + kPe, "PE\0\0", 4);
  put(bytes, kPe + 6, static_cast<std::uint16_t>(sections.size()));
  std::size_t at = kPe + 24;
  for (const auto& [name, content] : sections) {
    std::memcpy(bytes.data() + at, name.data(), std::min<std::size_t>(name.size(), 8));
    put(bytes, at + 8, static_cast<std::uint32_t>(content.size()));
    put(bytes, at + 16, static_cast<std::uint32_t>(content.size()));
    put(bytes, at + 20, static_cast<std::uint32_t>(bytes.size()));
    bytes += content;
    at += 40;
  }
  return bytes;
}

void install_kernel(const ScratchTree& tree, std::string_view release) {
  tree.write("/boot/vmlinuz-" + std::string(release), bzimage(release));
  tree.write("/lib/modules/" + std::string(release) + "/modules.builtin", "");
}

std::string grub_config(const std::vector<std::string>& releases, std::string_view chosen, std::string_view boot) {
  std::string text =
      "#\n# generated\n#\nif [ -s $prefix/grubenv ]; then\n  set have_grubenv=true\n  load_env\nfi\n"
      "if [ \"${next_entry}\" ] ; then\n   set default=\"${next_entry}\"\n   set next_entry=\n   save_env next_entry\n"
      "   set boot_once=true\nelse\n   set default=" +
      std::string(chosen) +
      "\nfi\n\nif [ x\"${feature_menuentry_id}\" = xy ]; then\n  menuentry_id_option=\"--id\"\nelse\n"
      "  menuentry_id_option=\"\"\nfi\nexport menuentry_id_option\n\n"
      "if [ \"${prev_saved_entry}\" ]; then\n  set saved_entry=\"${prev_saved_entry}\"\n  save_env saved_entry\nfi\n"
      "function savedefault {\n  if [ -z \"${boot_once}\" ]; then\n    saved_entry=\"${chosen}\"\n"
      "    save_env saved_entry\n  fi\n}\nfunction load_video {\n  insmod all_video\n}\n"
      "if [ x$feature_default_font_path = xy ] ; then\n   font=unicode\nelse\n  "
      "font=\"/usr/share/grub/unicode.pf2\"\nfi\n"
      "if loadfont $font ; then\n  set gfxmode=auto\n  load_video\n  set lang=C\nfi\nterminal_output gfxterm\n"
      "if [ \"${recordfail}\" = 1 ] ; then\n  set timeout=30\nelse\n  set timeout=5\nfi\n";
  text += entry("Debian GNU/Linux", "gnulinux-simple-12-34", releases.front(), boot);
  text += "submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-12-34' {\n";
  for (const std::string& release : releases) {
    const std::string title = "Debian GNU/Linux, with Linux " + release;
    text += entry(title, "gnulinux-" + release + "-advanced-12-34", release, boot);
    text += entry(title + " (recovery mode)", "gnulinux-" + release + "-recovery-12-34", release, boot);
  }
  return text +
         "}\nif [ \"$grub_platform\" = \"efi\" ]; then\n\tfwsetup --is-supported\n\tif [ \"$?\" = 0 ]; then\n"
         "\t\tmenuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {\n\t\t\tfwsetup\n\t\t}\n"
         "\tfi\nfi\nif [ -f  ${config_directory}/custom.cfg ]; then\n  source ${config_directory}/custom.cfg\n"
         "elif [ -z \"${config_directory}\" -a -f  $prefix/custom.cfg ]; then\n  source $prefix/custom.cfg\nfi\n";
}

std::string grub_environment(std::string_view lines) {
  std::string block = "# GRUB Environment Block\n" + std::string(lines);
  block.resize(1024, '#');
  return block;
}

std::string loader_entry(std::string_view title, std::string_view version, std::string_view linux_path,
                         std::string_view more) {
  return "title " + std::string(title) + "\nversion " + std::string(version) + "\nlinux " + std::string(linux_path) +
         "\ninitrd /initramfs.img\noptions root=UUID=12-34 ro\n" + std::string(more);
}

std::string efi_text(std::string_view text) {
  std::string bytes("\x06\0\0\0", 4);
  for (const char c : text) {
    bytes += c;
    bytes += '\0';
  }
  return bytes + std::string(2, '\0');
}

}  // namespace gpuskew
