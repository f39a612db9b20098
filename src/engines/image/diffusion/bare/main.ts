import { serveDriver } from '../../../bare/serve.ts';
import type { DriverLoad } from '../options.ts';
import type { DiffusionProgress, DiffusionTask } from '../worker/generate.ts';

// Runs in the Bare runtime, not in Node.

/** Progress is JSON text, images are bytes. */
interface Response {
  onUpdate(listener: (update: Uint8Array | string) => void): Response;
  await(): Promise<unknown>;
}

interface Model {
  load(): Promise<void>;
  cancel(): Promise<void>;
}

type Upscaling = Model & { upscale(image: Uint8Array, options: { repeats: number }): Promise<Response> };

interface Driver {
  readonly ImgStableDiffusion: new (parts: object) => Model & { run(params: object): Promise<Response> };
  readonly EsrganUpscaler: new (parts: object) => Upscaling;
}

serveDriver<DriverLoad, DiffusionTask, DiffusionProgress>(
  async ({ module, files, config, upscaler, upscalerConfig }) => {
    const imported = (await import(module)) as Driver & { readonly default: Driver };
    const driver = imported.ImgStableDiffusion ? imported : imported.default;
    const drawing = new driver.ImgStableDiffusion({ files, config });
    await drawing.load();
    let upscaling: Upscaling | undefined;
    let busy: Model | undefined;

    /** Loaded on first use; a failed load is retried. */
    async function openUpscaler(): Promise<Upscaling> {
      if (upscaler === undefined) throw new Error('there is no file that enlarges pictures');
      const model = new driver.EsrganUpscaler({ files: { esrgan: upscaler }, config: upscalerConfig });
      await model.load();
      return model;
    }

    async function begin(task: DiffusionTask, input: Uint8Array): Promise<Response> {
      if (task.type === 'upscale') {
        upscaling ??= await openUpscaler();
        busy = upscaling;
        return upscaling.upscale(input, { repeats: 1 });
      }
      busy = drawing;
      return drawing.run({ ...task.params, ...(input.length > 0 && { init_image: input }) });
    }

    return {
      run: async (task, input, progress) => {
        let image: Uint8Array | undefined;
        try {
          const response = await begin(task, input);
          const updated = (update: Uint8Array | string): void => {
            if (typeof update !== 'string') {
              image = new Uint8Array(update);
              return;
            }
            const { step, total } = JSON.parse(update) as { step?: number; total?: number };
            if (step !== undefined && total !== undefined) progress({ step, steps: total });
          };
          await response.onUpdate(updated).await();
        } finally {
          busy = undefined;
        }
        if (!image) throw new Error('it gave no picture');
        return image;
      },
      cancel: () => busy?.cancel(),
    };
  },
);
