/** A native part that `parley doctor` loads to see whether it works here. */
export type Probe =
  /** A build of llama.cpp. */
  | `llama ${string}`
  | 'fabric'
  | 'onnx'
  | 'flite'
  | 'sherpa'
  | 'sharp'
  | `whisper${'' | '-vulkan' | '-cuda'}`
  | 'whisper library'
  /** The driver of a pack. */
  | `bare ${string}`;
