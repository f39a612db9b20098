/** Sentences about drawings that are made by the logic of the page. */
export const drawingTexts = {
  lost: 'The server no longer has the image that was being drawn. Draw it again.',
} as const;
