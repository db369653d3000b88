#pragma once

// One node in an answer on driver images: the tag it needs, and whether that image exists.

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "aggregator/fleet_sources.h"
#include "core/result.h"
#include "core/tag.h"

namespace gpuskew {

enum class ImageState : std::uint8_t { Ok, Missing, Unknown };
/// "ok", "missing", "unknown"
const char* to_string(ImageState state);

/// Of several nodes: missing if any is, else unknown if any is.
class WorstImage {
 public:
  void add(ImageState state);
  ImageState state() const;

 private:
  bool missing_ = false;
  bool unknown_ = false;
};

/// What a silent node runs by now nobody knows: its tag was right once, and its image is unknown. So is every image
/// without a matrix.
ImageState image_state(const FleetSources& sources, const NodeRecord& record, const Result<Tag>& tag);

/// {"name","tag","verdict","why","notes"}, and "cluster" where the Kubernetes API was asked.
nlohmann::ordered_json image_row(const FleetSources& sources, const NodeRecord& record, const Result<Tag>& tag);

}  // namespace gpuskew
