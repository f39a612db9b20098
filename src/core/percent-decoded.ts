/** The text as it is where it is not valid percent-encoding: some clients and people do not encode. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
