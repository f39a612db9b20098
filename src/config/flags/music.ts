import { file, flagTable, toggle } from '../flag.ts';

export const musicFlags = flagTable({
  musicllm: file({ label: 'Music language model' }).help(
    'Language model of a music model (ACE-Step 1.5, GGUF), which plans songs. Music needs its four files and the music pack (parley pack add music).',
  ),
  musicembeddings: file({ label: 'Music embeddings' }).help('Text encoder of the music model.'),
  musicdiffusion: file({ label: 'Music diffusion' }).help('Diffusion model of the music model.'),
  musicvae: file({ label: 'Music VAE' }).help('VAE of the music model.'),
  musiclowvram: toggle({ label: 'Music with low VRAM' }).help(
    'Keep each part of the music model in memory only while it is used.',
  ),
});

/** A model has all of these files. */
export const musicFiles = ['musicllm', 'musicembeddings', 'musicdiffusion', 'musicvae'] as const;
