"""Name what is wrong with three copies of a picture, and where.

    python examples/diagnose_copies.py
"""

import llise

reference = llise.datasets.reference()[128:384, 128:384]
copies = [
    reference,
    llise.distortions.apply(reference, "blur", mse=120),
    llise.distortions.apply(reference, "impulse_noise", mse=300, random_state=1),
]
for found in llise.diagnose(reference, copies):
    severity = ", ".join(f"{kind} {mse:.0f}" for kind, mse in found.severity.items())
    rows, cols = found.block_grid
    print(f"{' + '.join(found.verdict):15} confidence {found.confidence:.2f}  MSE by kind: {severity or 'none'}")
    print(f"{'':15} {rows}x{cols} blocks, PSNR {found.psnr:.1f} dB, SSIM {found.ssim:.3f}")
