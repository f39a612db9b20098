/** RFC 3339, from seconds since 1970. */
export function timestamp(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}
