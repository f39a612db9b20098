/** Leaves room for the endings of a file that is being downloaded; file systems allow 255 bytes. */
const maxBytes = 200;

/**
 * The text, if it is the name of a file inside a folder on every system: without folders, drives, streams and device names.
 * Undefined for anything else.
 */
export function plainFileName(text: string): string | undefined {
  if (text === '' || Buffer.byteLength(text) > maxBytes) return undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: file names may not have any.
  if (/[/\\:*?"<>|\x00-\x1f\x7f]/.test(text)) return undefined;
  // Windows drops dots and spaces at the end, so that "..." is the folder itself.
  if (/[. ]$/.test(text)) return undefined;
  return /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(text) ? undefined : text;
}
