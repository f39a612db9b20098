import { translatable } from '../languages/index.ts';

/** Titles of stories, and what the built-in scenarios are. Their own texts are for the model, and English. */
export const texts = translatable('scenarios', {
  untitled: 'Untitled',
  lighthouse: ['The lamp that went out', 'Story: a lighthouse keeper sees a light on the water.'],
  archive: ['Below the city', 'Adventure: find the flooded archive below the city in one night.'],
  clockmaker: ['Tea with the clockmaker', 'Character: chat with Ottilie, who repairs clocks.'],
  editor: ['A second pair of eyes', 'Instruct: paste a paragraph and get edits.'],
});
