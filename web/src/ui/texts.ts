export const texts = {
  versions: { label: 'Versions', previous: 'Previous version', next: 'Next version', create: 'New version' },
} as const;
