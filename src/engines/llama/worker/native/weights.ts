import type { LoadOptions } from '../../load-options.ts';
import type { Native } from './native.ts';
import { kvOverrides, tensorOverrides } from './overrides.ts';
import type { ModelParams, Pointer } from './structs.ts';

/** The library refused the file and has said why on standard error. */
export class UnexplainedFailure extends Error {}

/** What is to be known of a model to bring its weights to where they belong. */
export type WeightOptions = Pick<
  LoadOptions,
  | 'model'
  | 'backend'
  | 'gpuLayers'
  | 'devices'
  | 'mainGpu'
  | 'tensorSplit'
  | 'splitMode'
  | 'loadMode'
  | 'metadataOverrides'
  | 'tensorOverrides'
>;

const loadModes = { auto: -1, read: 0, mmap: 1, mlock: 2, 'mmap+mlock': 3, 'direct-io': 4 } as const;
const splitModes = { none: 0, layer: 1, row: 2 } as const;

export async function loadWeights(
  native: Native,
  options: WeightOptions,
  gpus: readonly Pointer[],
  gpuLayers: number,
  progress: (fraction: number) => void,
): Promise<Pointer> {
  const deviceList = new BigUint64Array([...gpus, 0n]);
  const split = new Float32Array(16);
  split.set(options.tensorSplit.slice(0, split.length));
  let reported = -1;
  const callback = native.progressCallback((fraction) => {
    const percent = Math.floor(fraction * 100);
    if (percent > reported) progress(fraction);
    reported = percent;
    return true;
  });
  const overrides = tensorOverrides(native, options);
  const params: ModelParams = {
    ...native.modelDefaults(),
    devices: new Uint8Array(deviceList.buffer),
    n_gpu_layers: gpuLayers,
    split_mode: splitModes[options.splitMode],
    load_mode: loadModes[options.loadMode],
    main_gpu: Math.max(0, options.mainGpu),
    tensor_split: options.tensorSplit.length > 0 ? split : null,
    progress_callback: callback.pointer,
    kv_overrides: kvOverrides(options.metadataOverrides),
    tensor_buft_overrides: overrides.list,
  };
  try {
    const model = await native.modelLoad(options.model, params);
    if (!model) throw new UnexplainedFailure();
    return model;
  } finally {
    callback.release();
    overrides.release();
  }
}

/** Devices that the model may use: those named by the user, or every real GPU. */
export function gpuDevices(native: Native, options: Pick<LoadOptions, 'backend' | 'gpuLayers' | 'devices'>): Pointer[] {
  if (options.backend === 'cpu' || options.gpuLayers === 0) return [];
  const all = Array.from({ length: native.deviceCount() }, (_, index) => native.device(index));
  const gpus = all.filter((device) => [1, 2].includes(native.deviceType(device)));
  if (options.devices.length === 0) return gpus;
  const wanted = options.devices.map((name) => name.toLowerCase());
  return gpus.filter(
    (device, index) => wanted.includes(native.deviceName(device).toLowerCase()) || wanted.includes(String(index)),
  );
}
