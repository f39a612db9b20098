/** Which of the client's stop texts ended a reply, in a field that vLLM has for it; nothing where none did. */
export function stopReason({ stopText }: { readonly stopText?: string | undefined }): object {
  return stopText === undefined ? {} : { stop_reason: stopText };
}

/** The same inside of a chunk that is written by hand. */
export function stopNote({ stopText }: { readonly stopText?: string | undefined }): string {
  return stopText === undefined ? '' : `,"stop_reason":${JSON.stringify(stopText)}`;
}
