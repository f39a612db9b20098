/** Memory of a GPU, as the backend of an engine reports it. */
export interface GpuMemory {
  /** `CUDA0`, `Vulkan1` */
  readonly name: string;
  readonly description: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** With the part of it that a loaded model has taken. */
export interface GpuUse extends GpuMemory {
  readonly heldBytes: number;
}

/** What a model will take of GPUs: of those that its flags name, or of all. */
export interface GpuNeed {
  readonly bytes: number;
  /** Names or numbers; none means all GPUs. */
  readonly devices: readonly string[];
}

/** The GPUs that are named, by name or by number, in the order of the GPUs; all without names. */
export function namedGpus<Gpu extends { readonly name: string }>(
  gpus: readonly Gpu[],
  devices: readonly string[],
): readonly Gpu[] {
  if (devices.length === 0) return gpus;
  const wanted = devices.map((device) => device.toLowerCase());
  return gpus.filter(({ name }, index) => wanted.includes(name.toLowerCase()) || wanted.includes(String(index)));
}
