import { translatable } from '../languages/index.ts';

/** All texts of rendered messages. */
export const texts = translatable('markdown', {
  plainText: 'text',
  copyCode: 'Copy code',
  copied: 'Copied',
  cannotCopy: 'Could not copy',
  done: 'Done',
  table: 'Table',
  preview: 'Preview',
  source: 'Source',
  diagram: 'Diagram',
  picture: 'Image',
  diagramFailed: (reason: string) => `Cannot draw this diagram: ${reason}`,
  diagramsUnavailable: 'the server is not reachable. Check that it is running.',
  diagramTooSlow: 'drawing took too long. Make the diagram smaller.',
  pictureFailed: 'Cannot show this image: the SVG is invalid.',
  footnote: (label: string) => `Footnote ${label}`,
  cited: (number: number, title: string) => `Source ${number}: ${title}`,
  backToText: 'Back to the text',
});
