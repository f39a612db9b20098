import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeModel } from '../../onnx/model.ts';
import { OnnxSession } from '../../onnx/session.ts';
import { packageFolder } from '../../package-folder.ts';
import type { NetworkScale } from '../facts.ts';
import { type KerasModel, onnxOfKeras, pictureInput, pictureOutput } from '../upscaling/keras-network.ts';
import type { Watched } from './sketch-network.ts';
import type { NetworkOf } from './upscale.ts';

const packageName = '@upscalerjs/esrgan-slim';

interface Hashes {
  readonly model: string;
  readonly weights: string;
}

const hashes: Readonly<Record<NetworkScale, Hashes>> = {
  2: {
    model: '8efb488c2caed0196a6163e3f06798f9245e92623ffd50654a26c372e09150ea',
    weights: '5cb464ae4d390ce0a771afd5feaf60fbfcdb18ab48a56db98cdf6b88202369de',
  },
  3: {
    model: '642208758cf6c42a4f88745894b45cc03776681a46027b85963f01fe003e9917',
    weights: '9d344609abd1e29bd3924f9c4e9ffaa1aee6be7c3586bab0f52863597858a2ba',
  },
  4: {
    model: '3a2eaa642232567e7d2a2e7638c9704f42f63f355fc656c18aa78bf2da1d903d',
    weights: '82637daaf3ba024df5e9da2389e8992e7a6e8a992ba6268ce6bc490c92e9516e',
  },
  8: {
    model: 'd4278813adf94b7dff96c756b97f95a41f56ff7e85b4ecec25dc06ddea1d49b6',
    weights: '0c5fe31649784135a431733f0f295838c5330f8f38011c10d29d36bd8dd7c293',
  },
};

/** Each is made from its package at the first use, which takes a moment, and stays. */
export class UpscalingNetworks {
  readonly #opened = new Map<NetworkScale, Promise<OnnxSession>>();

  constructor(private readonly threads: number) {}

  watchedBy(watched: Watched): NetworkOf {
    return async (scale) => {
      const session = await this.#session(scale);
      return {
        scale,
        run: async (planes, { width, height }, signal) => {
          const inputs = { [pictureInput]: { data: planes, shape: [1, 3, height, width] } };
          const larger = (await watched(() => session.run(inputs, signal)))[pictureOutput];
          if (!larger) throw new Error('the upscaler gave nothing');
          return larger.data;
        },
      };
    };
  }

  async close(): Promise<void> {
    for (const session of await Promise.allSettled(this.#opened.values())) {
      if (session.status === 'fulfilled') session.value.release();
    }
  }

  #session(scale: NetworkScale): Promise<OnnxSession> {
    const found = this.#opened.get(scale);
    if (found) return found;
    const opening = open(scale, this.threads);
    this.#opened.set(scale, opening);
    // What failed once may be there the next time.
    opening.catch(() => this.#opened.delete(scale));
    return opening;
  }
}

async function open(scale: NetworkScale, threads: number): Promise<OnnxSession> {
  const folder = packageFolder(packageName);
  if (folder === undefined) throw new Error(`the package ${packageName} is not installed`);
  const read = (name: string, hash: string) => checkedFile(join(folder, 'models', `x${scale}`, name), hash);
  const model = await read('model.json', hashes[scale].model);
  const weights = await read('group1-shard1of1.bin', hashes[scale].weights);
  const network = onnxOfKeras(JSON.parse(model.toString()) as KerasModel, weights);
  return OnnxSession.open(writeModel(network), { threads });
}

async function checkedFile(path: string, sha256: string): Promise<Buffer> {
  const bytes = await readFile(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw new Error(`${path} is damaged; install Parley anew`);
  }
  return bytes;
}
