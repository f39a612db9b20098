export const texts = {
  close: 'Close',
  copy: (label: string) => `Copy: ${label}`,
} as const;
