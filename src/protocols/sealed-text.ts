/** Marks text of this server; what other servers encrypted cannot be read. */
const seal = 'parley1.';

/** For fields of encrypted content, which clients send back unchanged. It is not secret: the reply shows the same text. */
export function sealText(text: string): string {
  return seal + Buffer.from(text).toString('base64');
}

/** Empty for what this server did not write. */
export function unsealText(content: string): string {
  return content.startsWith(seal) ? Buffer.from(content.slice(seal.length), 'base64').toString('utf8') : '';
}
