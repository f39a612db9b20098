/** One network has all IPv6 addresses that begin with the same 64 bits. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [front = ''] = address.split('::');
  return front.split(':').slice(0, 4).join(':');
}
