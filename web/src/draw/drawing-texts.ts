import { translatable } from '../languages/index.ts';

/** Sentences about drawings outside of the Draw page, and of the logic that all pages share. */
export const drawingTexts = translatable('drawing', {
  lost: 'The server no longer has the image that was being drawn. Draw it again.',
  none: 'The server returned no image.',
  progress: 'Progress',
  describing: 'Describing the scene …',
  drawing: (prompt: string) => `Drawing: ${prompt}`,
  stop: 'Stop drawing',
});
