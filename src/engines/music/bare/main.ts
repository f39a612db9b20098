import { serveDriver } from '../../bare/serve.ts';
import type { SongLoad, SongProgress, SongTask } from '../messages.ts';

// Runs in the Bare runtime, not in Node.

/** The native driver. An instance is a loaded model; it keeps its parts in memory between jobs. */
interface Driver {
  createInstance(owner: object, config: object, output: Output): object;
  activate(instance: object): Promise<void> | void;
  runJob(instance: object, job: object): Promise<boolean> | boolean;
  cancel(instance: object): Promise<void> | void;
  destroyInstance(instance: object): Promise<void> | void;
}

type Output = (instance: object, event: string, data: JobUpdate | null, error: string | null) => void;

/** Progress, then the samples, then figures of the whole job. */
interface JobUpdate {
  readonly progressStage?: string;
  readonly progressStep?: number;
  readonly progressTotal?: number;
  readonly outputArray?: Int16Array;
  readonly totalTimeMs?: number;
}

interface Job {
  readonly progress: (progress: SongProgress) => void;
  readonly resolve: (samples: Uint8Array) => void;
  readonly reject: (error: Error) => void;
  samples?: Uint8Array;
}

serveDriver<SongLoad, SongTask, SongProgress>(async ({ module, backends, files, threads, gpu }) => {
  const imported = (await import(module)) as { readonly default: Driver };
  const driver = imported.default;
  const config = { ...files, engineType: 'acestep', useGPU: gpu, nGpuLayers: 99, threads, backendsDir: backends };
  let current: Job | undefined;
  let instance: object | undefined;
  let sampling: SongTask['sampling'] | undefined;

  /** Steps and shift belong to an instance: other values need another one. */
  async function instanceFor(requested: SongTask['sampling']): Promise<object> {
    const same = requested.inferenceSteps === sampling?.inferenceSteps && requested.shift === sampling?.shift;
    if (instance && same) return instance;
    const earlier = instance;
    instance = undefined;
    if (earlier) await driver.destroyInstance(earlier);
    const opened = driver.createInstance({}, { ...config, ...requested }, (_instance, _event, data, error) => {
      if (current) follow(current, data, error);
    });
    await driver.activate(opened);
    sampling = requested;
    instance = opened;
    return opened;
  }

  // Checks the files: most requests use these values, the defaults of turbo models.
  await instanceFor({ inferenceSteps: 8, shift: 3 });

  return {
    run: async ({ sampling: requested, job, codes }, _input, progress) => {
      const loaded = await instanceFor(requested);
      const audioCodes = codes.length > 0 ? { audioCodes: Int32Array.from(codes) } : {};
      try {
        return await new Promise<Uint8Array>((resolve, reject) => {
          current = { progress, resolve, reject };
          const refused = () => reject(new Error('the engine did not accept the song'));
          Promise.resolve(driver.runJob(loaded, { ...job, ...audioCodes })).then((ok) => ok || refused(), reject);
        });
      } finally {
        current = undefined;
      }
    },
    cancel: () => instance && driver.cancel(instance),
  };
});

function follow(job: Job, data: JobUpdate | null, error: string | null): void {
  const { progressStage = '', progressStep = 0, progressTotal, outputArray, totalTimeMs } = data ?? {};
  if (error) {
    job.reject(new Error(error));
  } else if (progressTotal !== undefined) {
    job.progress({ stage: progressStage, step: progressStep, steps: progressTotal });
  } else if (outputArray) {
    job.samples = new Uint8Array(outputArray.buffer, outputArray.byteOffset, outputArray.byteLength);
  } else if (totalTimeMs !== undefined) {
    if (job.samples) job.resolve(job.samples);
    else job.reject(new Error('it gave no samples'));
  }
}
