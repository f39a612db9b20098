import { translatable } from '../languages/index.ts';

/** Models and packs that suit this computer. */
export const texts = translatable('recommendations', {
  title: 'Recommended for this computer',
  download: (size: string) => `Download (${size})`,
  showPacks: 'Show packs',
  /** What a pack brings that the built-in model does not. */
  packs: {
    speech: 'The pack voices brings natural voices in seven languages.',
    transcription: 'The pack ears understands 99 languages and makes fewer errors.',
    image: 'The pack diffusion draws with larger models, for photos and paintings.',
  },
});
