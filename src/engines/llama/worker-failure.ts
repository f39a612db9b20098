import type { ChildExit } from '../host/child.ts';
import { nextGpuBuild } from './gpu-builds.ts';
import type { GpuBuild, LoadOptions } from './load-options.ts';

/** The options that a worker is started again with. */
type Restartable = Pick<LoadOptions, 'backend' | 'gpuLayers' | 'layersBefore' | 'failedGpuBuilds' | 'skipCpuVariants'>;

/** Facts about the worker that has ended. */
interface WorkerFacts extends MachineFacts {
  /** Layers that it put on GPUs; undefined if it did not get that far. */
  readonly gpuLayers: number | undefined;
  /** Whether a model was loaded before with this build. */
  readonly hasWorked: boolean;
}

export interface StartOver<Options> {
  readonly options: Options;
  readonly note?: string;
  readonly failed?: FailedBuild;
}

/**
 * How to restart a worker after this exit: with the next lower CPU build after an illegal instruction, with fewer layers after the
 * memory of a GPU was full, or with the next GPU build. Undefined for any other exit.
 */
export function startOver<Options extends Restartable>(
  exit: ChildExit,
  options: Options,
  facts: WorkerFacts,
): StartOver<Options> | undefined {
  const lower = withLowerCpuBuild(exit, options);
  if (lower) return { options: lower };
  return withFewerLayers(exit, options, facts) ?? withOtherBuild(exit, options, facts);
}

function withFewerLayers<Options extends Restartable>(
  { lastLines }: ChildExit,
  options: Options,
  { gpuLayers = 0 }: WorkerFacts,
): StartOver<Options> | undefined {
  const failure = gpuMemoryFailure(lastLines);
  if (failure === undefined || gpuLayers === 0) return undefined;
  const layersBefore = options.layersBefore ?? gpuLayers;
  const next = fewerLayers(gpuLayers, layersBefore);
  if (next === undefined) return undefined;
  return {
    options: { ...options, gpuLayers: next, layersBefore },
    note: fewerLayersNote(failure, gpuLayers, next),
  };
}

/** Undefined if the GPU has worked before: it is tried again. */
function withOtherBuild<Options extends Restartable>(
  exit: ChildExit,
  options: Options,
  facts: WorkerFacts,
): StartOver<Options> | undefined {
  const failed = failedBuild(exit, options, facts);
  if (!failed || facts.hasWorked) return undefined;
  const others = { ...options, failedGpuBuilds: [...options.failedGpuBuilds, failed.build] };
  const next = currentBuild(others, facts);
  if (next === undefined) return undefined;
  return { options: others, note: fallBackNote(failed.build, failed.reason, next, facts), failed };
}

/** The GPU build that crashed the worker; undefined if its exit has another cause. */
export function failedBuild(
  { lastLines }: ChildExit,
  options: Restartable,
  { installed }: Pick<MachineFacts, 'installed'>,
): FailedBuild | undefined {
  const build = currentBuild(options, { installed });
  const reason = gpuFailure(lastLines);
  return reason === undefined || build === undefined || build === 'none' ? undefined : { build, reason };
}

function currentBuild(
  { backend, failedGpuBuilds }: Restartable,
  { installed }: Pick<MachineFacts, 'installed'>,
): GpuBuild | undefined {
  return nextGpuBuild(backend, installed, failedGpuBuilds);
}

/** More than any package has: further illegal instructions must have another cause. */
const maxCpuVariants = 24;

/** Options with the next lower CPU build after an illegal instruction; undefined after another exit. */
function withLowerCpuBuild<Options extends Pick<LoadOptions, 'skipCpuVariants'>>(
  { signal }: { readonly signal: string | null },
  options: Options,
): Options | undefined {
  const skipCpuVariants = options.skipCpuVariants + 1;
  return signal === 'SIGILL' && skipCpuVariants <= maxCpuVariants ? { ...options, skipCpuVariants } : undefined;
}

/** The reason of a GPU failure in the last lines; the very last is often just "…/ggml-cuda.cu:108: CUDA error". */
export function gpuFailure(lines: readonly string[]): string | undefined {
  const reasons = lines.map((line) => patterns.map((pattern) => pattern.exec(line)?.groups?.reason).find(Boolean));
  const unexplained = lines.findLast((line) => /\bggml-(cuda|vulkan|metal)\b.*(error|abort|assert)/i.test(line));
  return reasons.findLast((reason) => reason !== undefined) ?? vulkanReason(lines) ?? unexplained?.trim();
}

const patterns = [
  /\b(?:CUDA|HIP|MUSA|Metal) error: (?<reason>.*\S)/,
  /\bfailed to initialize (?:CUDA|ROCm|MUSA): (?<reason>.*\S)/,
  /\bfailed to load \S*ggml-cuda\S*: (?<reason>.*\S)/,
];

/** Vulkan prints `ggml_vulkan: … failed`, or the C++ runtime an uncaught `vk::…Error`. */
function vulkanReason(lines: readonly string[]): string | undefined {
  const thrown = lines.findLast((line) => /vk::\w*Error|ErrorDeviceLost|ErrorOutOfDeviceMemory/.test(line));
  const printed = lines.findLast((line) => /^ggml_vulkan: .*(error|failed|unable)/i.test(line));
  const text = thrown ?? printed;
  return text?.replace(/^(ggml_vulkan:|\s*what\(\):)\s*/, '').trim();
}

/** The line which says that the memory of a GPU, not the main memory, is full. */
export function gpuMemoryFailure(lines: readonly string[]): string | undefined {
  const line = lines.find((one) =>
    /cudaMalloc failed: out of memory|(CUDA|HIP|MUSA) error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|ErrorOutOfDeviceMemory|ggml_vulkan: .*allocation of size \d+ failed|(unable|failed) to allocate (CUDA|ROCm|MUSA|Vulkan|Metal|MTL)\d* buffer/i.test(
      one,
    ),
  );
  return line?.replace(/^\s*(\w+:\s*)+(?=\S)/, '').trim();
}

/** How many layers to try after these did not fit: three quarters, half and a quarter of the first number, then none. */
export function fewerLayers(tried: number, first: number): number | undefined {
  return [3 / 4, 1 / 2, 1 / 4, 0].map((share) => Math.floor(first * share)).find((layers) => layers < tried);
}

export function fewerLayersNote(reason: string, tried: number, next: number): string {
  const rest = next === 0 ? 'all layers stay on the CPU' : `going on with ${next}`;
  return `The graphics card has no memory for ${tried} layers (${reason}); ${rest}. Fewer --gpulayers, a smaller --contextsize or fewer --parallelrequests need less.`;
}

const buildNames: Readonly<Record<GpuBuild, string>> = {
  'cuda-built': 'CUDA (compiled here)',
  cuda: 'CUDA',
  'cuda-ext': 'CUDA 12 (cuda-ext)',
  'cuda-system': 'CUDA (libggml-cuda.so of the system)',
  vulkan: 'Vulkan',
  metal: 'Metal',
  none: 'the CPU',
};

/** Facts about the machine, for advice. */
export interface MachineFacts {
  readonly installed: readonly GpuBuild[];
  /** Whether there is a CUDA compiler; called only after a failure. */
  readonly canBuild: () => boolean;
}

/** A log line for a build that cannot be used while another one can. Advice is added after the last CUDA build. */
export function fallBackNote(failed: GpuBuild, reason: string, next: GpuBuild, facts: MachineFacts): string {
  const advice = isCuda(next) ? '' : ` ${whatToTry(failed, reason, facts, [next])}`;
  return `${buildNames[failed]} cannot be used here (${reason}); going on with ${buildNames[next]}.${advice}`;
}

export interface FailedBuild {
  readonly build: GpuBuild;
  readonly reason: string;
}

/** The end of a sentence that begins with the model's name. */
export function failedForGood(failures: readonly FailedBuild[], facts: MachineFacts): string {
  const last = failures.at(-1);
  if (!last) return 'no build can be used here';
  const [first, ...others] = failures.map(({ build, reason }) => ({ name: buildNames[build], reason }));
  const more = others.map(({ name, reason }) => `; ${name}: ${reason}`).join('');
  const advice = whatToTry(last.build, last.reason, facts, []);
  return `${first?.name} cannot be used here: ${first?.reason}${more}. ${advice}`;
}

const cudaExt =
  '@node-llama-cpp/linux-x64-cuda-ext (made with CUDA 12, needs the libraries of CUDA 12 on this machine)';

function isCuda(build: GpuBuild): boolean {
  return build.startsWith('cuda');
}

function whatToTry(
  failed: GpuBuild,
  reason: string,
  { installed, canBuild }: MachineFacts,
  inUse: readonly GpuBuild[],
): string {
  if (!isCuda(failed)) return 'A newer graphics driver may help; --usecpu uses the processor alone.';
  const lacksCuda12 = /\.so\.12\b.*cannot open/.test(reason);
  const tries = [
    ...(!installed.includes('cuda-built') && canBuild() ? ['parley pack build cuda (compiles it for this card)'] : []),
    ...(lacksCuda12 ? ['the libraries of CUDA 12 (libcublas.so.12, libcudart.so.12)'] : []),
    'a newer NVIDIA driver',
    ...(installed.includes('cuda') && !installed.includes('cuda-ext') ? [`the package ${cudaExt}`] : []),
    ...(installed.includes('vulkan') && !inUse.includes('vulkan') ? ['--usevulkan'] : []),
    ...(inUse.includes('none') ? [] : ['--usecpu']),
  ];
  return `What may help: ${tries.join(', or ')}.`;
}

/** The line of standard error that best explains a failed load, as the end of a sentence. */
export function loadReason(lines: readonly string[], fallback: string): string {
  const failure = gpuFailure(lines);
  if (failure !== undefined) return failure;
  const candidates = lines.filter((line) =>
    /error|failed|invalid|unknown|unsupported|unable|not enough|out of memory/i.test(line),
  );
  const best =
    candidates.find((line) => /error loading model|unable to allocate|out of memory/i.test(line)) ?? candidates.at(-1);
  return best === undefined ? fallback : best.replace(/^\s*(\w+:\s*)+(error loading model:\s*)?(?=\S)/, '').trim();
}
