import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { GpuMemory, GpuUse } from '../../core/gpu-memory.ts';
import { readProcessStat } from '../../processes/guarded-processes.ts';

/** Memory that a process holds of one GPU. */
interface GpuProcess {
  readonly gpu: string;
  readonly pid: number;
  readonly bytes: number;
}

interface Gpu extends GpuMemory {
  readonly id: string;
  /** Its number among all GPUs of the machine. */
  readonly index: number;
}

const mebibyte = 2 ** 20;
const format = '--format=csv,noheader,nounits';
const processQuery = ['--query-compute-apps=gpu_uuid,pid,used_memory', format];
/** The name comes last, because it may contain a comma. */
const gpuQuery = ['--query-gpu=uuid,index,memory.total,memory.free,name', format];
/** A driver that is not kept loaded takes seconds to answer. */
const maxAnswerMs = 5000;

/** The output of the query of processes, without those whose memory the driver does not tell (`[N/A]`, as on Windows). */
export function readGpuProcesses(text: string): readonly GpuProcess[] {
  return [...text.matchAll(/^\s*([^\s,]+)\s*,\s*(\d+)\s*,\s*(\d+)\s*$/gm)].map(([, gpu = '', pid, used]) => ({
    gpu,
    pid: Number(pid),
    bytes: Number(used) * mebibyte,
  }));
}

/** The output of the query of GPUs, with the names that llama.cpp gives them where all are visible. */
export function readGpus(text: string): readonly Gpu[] {
  const rows = text.matchAll(/^\s*([^\s,]+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\S.*?)\s*$/gm);
  return [...rows].map(([, id = '', index, total, free, description = '']) => ({
    id,
    index: Number(index),
    name: `CUDA${index}`,
    description,
    totalBytes: Number(total) * mebibyte,
    freeBytes: Number(free) * mebibyte,
  }));
}

/**
 * With the names in a process with this `CUDA_VISIBLE_DEVICES`, which numbers the GPUs anew: by their index, or by the beginning of their id.
 * Everything from its first wrong entry on is ignored, as CUDA does. GPUs that it hides have a name that no other has.
 */
export function visibleGpus(gpus: readonly Gpu[], visible: string | undefined): readonly Gpu[] {
  if (visible === undefined) return gpus;
  const order: Gpu[] = [];
  for (const entry of visible.split(',').map((one) => one.trim())) {
    const [gpu, ...more] = /^\d+$/.test(entry)
      ? gpus.filter(({ index }) => index === Number(entry))
      : gpus.filter(({ id }) => entry.startsWith('GPU-') && id.startsWith(entry));
    if (!gpu || more.length > 0 || order.includes(gpu)) break;
    order.push(gpu);
  }
  return gpus.map((gpu) => {
    const number = order.indexOf(gpu);
    return { ...gpu, name: number === -1 ? `NVIDIA${gpu.index}` : `CUDA${number}` };
  });
}

/** The GPUs that these processes use, with the memory that they hold of each. */
export function gpuUse(
  gpus: readonly Gpu[],
  processes: readonly GpuProcess[],
  own: ReadonlySet<number>,
): readonly GpuUse[] {
  return gpus.flatMap(({ id, index: _, ...memory }) => {
    const held = processes.filter(({ gpu, pid }) => gpu === id && own.has(pid));
    return held.length === 0 ? [] : [{ ...memory, heldBytes: held.reduce((sum, { bytes }) => sum + bytes, 0) }];
  });
}

interface Deps {
  /** What the tool prints for these arguments. */
  readonly query: (args: readonly string[]) => Promise<string>;
  /** Undefined once the process has ended. */
  readonly parent: (pid: number) => Promise<number | undefined>;
  /** `CUDA_VISIBLE_DEVICES` of the server, which its own engines have too. */
  readonly visible?: string | undefined;
}

/** What programs hold of NVIDIA GPUs. `nvidia-smi` runs once for all who ask meanwhile, and never again where it is absent. */
export class NvidiaSmi {
  #running: Promise<readonly [readonly GpuProcess[], readonly Gpu[]]> | undefined;
  #missing = false;

  constructor(private readonly deps: Deps = { query, parent, visible: process.env.CUDA_VISIBLE_DEVICES }) {}

  /** Of a process and its descendants; undefined if it cannot be known now. */
  async use(pid: number): Promise<readonly GpuUse[] | undefined> {
    if (this.#missing) return [];
    try {
      const [processes, gpus] = await this.#answer();
      return gpuUse(gpus, processes, await this.#own(pid, processes));
    } catch (error) {
      this.#missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      return this.#missing ? [] : undefined;
    }
  }

  #answer() {
    this.#running ??= this.#ask().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #ask() {
    const processes = readGpuProcesses(await this.deps.query(processQuery));
    const gpus = processes.length > 0 ? readGpus(await this.deps.query(gpuQuery)) : [];
    return [processes, visibleGpus(gpus, this.deps.visible)] as const;
  }

  /** Those of the processes that this one has started, directly or not. */
  async #own(root: number, processes: readonly GpuProcess[]): Promise<ReadonlySet<number>> {
    const own = new Set<number>();
    for (const { pid } of processes) {
      const seen = new Set<number>();
      let at: number | undefined = pid;
      while (at !== undefined && at > 1 && at !== root && !seen.has(at)) {
        seen.add(at);
        at = await this.deps.parent(at);
      }
      if (at === root) own.add(pid);
    }
    return own;
  }
}

async function query(args: readonly string[]): Promise<string> {
  const options = { timeout: maxAnswerMs, killSignal: 'SIGKILL', windowsHide: true } as const;
  return (await promisify(execFile)('nvidia-smi', args, options)).stdout;
}

async function parent(pid: number): Promise<number | undefined> {
  return readProcessStat(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))?.parent;
}
