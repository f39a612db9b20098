import { freemem, totalmem } from 'node:os';
import type { ImageFacts } from '../../core/image.ts';
import { modelHash } from '../pictures/picture-text.ts';
import { samplerAliases, samplerDisplay } from '../pictures/sampler-names.ts';
import { isPlainWay } from '../pictures/upscaling.ts';

/** What a client may look up, by its path; without a model most of it is empty. */
export const lists: Readonly<
  Record<string, { readonly summary: string; readonly of: (facts?: ImageFacts) => unknown }>
> = {
  'sd-models': { summary: 'The image model.', of: (facts) => (facts ? [modelEntry(facts)] : []) },
  samplers: { summary: 'The samplers of the model.', of: (facts) => facts?.samplers.map(samplerEntry) ?? [] },
  schedulers: {
    summary: 'The schedulers of the model.',
    of: (facts) => facts?.schedulers.map((name) => ({ name, label: name, aliases: [] })) ?? [],
  },
  upscalers: { summary: 'What enlarges pictures.', of: (facts) => (facts ? upscalerEntries(facts) : []) },
  'latent-upscale-modes': { summary: 'None.', of: () => [] },
  loras: {
    summary: 'What requests may change the model by.',
    of: (facts) => facts?.loras?.map(({ name, file }) => ({ name, alias: name, path: file, metadata: {} })) ?? [],
  },
  'sd-vae': { summary: 'The file that stands in for the VAE of the model.', of: vaeEntries },
  'sd-modules': { summary: 'The same under another name.', of: vaeEntries },
  'prompt-styles': { summary: 'None.', of: () => [] },
  hypernetworks: { summary: 'None.', of: () => [] },
  'face-restorers': { summary: 'None.', of: () => [] },
  'realesrgan-models': { summary: 'None; see upscalers.', of: () => [] },
  extensions: { summary: 'None.', of: () => [] },
  'script-info': { summary: 'None.', of: () => [] },
  scripts: { summary: 'None.', of: () => ({ txt2img: [], img2img: [] }) },
  embeddings: { summary: 'None.', of: () => ({ loaded: {}, skipped: {} }) },
  'cmd-flags': {
    summary: 'What the model was loaded from.',
    of: (facts) => ({ api: true, ckpt: facts ? fileName(facts.path) : null }),
  },
  memory: { summary: 'The memory of the machine.', of: memory },
};

function modelEntry(facts: ImageFacts): object {
  const { title, name, sha256, path } = facts;
  return {
    title,
    model_name: name,
    hash: modelHash(facts),
    sha256: sha256 ?? '8'.repeat(64),
    // The place of the file is nobody's business.
    filename: fileName(path),
    config: null,
  };
}

function vaeEntries(facts?: ImageFacts): readonly object[] {
  return facts?.vae === undefined ? [] : [{ model_name: facts.vae, filename: facts.vae }];
}

function fileName(path: string): string {
  return path.split(/[/\\]/).at(-1) ?? path;
}

function samplerEntry(name: string): object {
  return { name: samplerDisplay(name), aliases: samplerAliases(name), options: {} };
}

function upscalerEntries({ upscalers }: ImageFacts): readonly object[] {
  const all = upscalers.some(({ name }) => name === 'None') ? upscalers : [{ name: 'None', scale: 1 }, ...upscalers];
  return all.map(({ name, scale }) => ({
    name,
    model_name: isPlainWay(name) ? null : name,
    model_path: null,
    model_url: null,
    scale,
  }));
}

function memory(): object {
  const [free, total] = [freemem(), totalmem()];
  return { ram: { free, used: total - free, total }, cuda: { error: 'unavailable' } };
}
