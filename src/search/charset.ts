/** The text of a page in the encoding that it says it has, UTF-8 otherwise. */
export function pageString(bytes: Uint8Array, contentType: string | undefined): string {
  const beginning = Buffer.from(bytes.subarray(0, 1024)).toString('latin1');
  const label = charsetIn(contentType ?? '') ?? charsetIn(beginning) ?? 'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function charsetIn(text: string): string | undefined {
  return /charset\s*=\s*["']?([\w-]{1,40})/i.exec(text)?.[1];
}
