"""MMD-GAN for medical records: a generator against an autoencoder's kernel (specs/mmd_gan_ehr.md). Promises nothing."""
