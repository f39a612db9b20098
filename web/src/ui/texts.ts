export const texts = {
  close: 'Close',
  copy: (label: string) => `Copy: ${label}`,
  versions: { label: 'Versions', previous: 'Previous version', next: 'Next version', create: 'New version' },
} as const;
