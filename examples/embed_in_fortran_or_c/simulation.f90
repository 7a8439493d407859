! The same gradient from Fortran: rod is a C function like any other.
program simulation
    use, intrinsic :: iso_c_binding
    implicit none
    interface
        function rod(kappa, observed, loss, gradient) result(code) bind(C, name="rod")
            import :: c_double, c_int
            real(c_double), intent(in) :: kappa(*), observed(*)
            real(c_double), intent(out) :: loss, gradient(*)
            integer(c_int) :: code
        end function
    end interface
    integer, parameter :: cells = 24, faces = cells - 1, steps = 40
    real(c_double) :: kappa(faces), truth(faces), observed(cells), gradient(faces), moved(faces), slope(faces)
    real(c_double) :: loss, unused(faces), above, below, error
    real(c_double), parameter :: h = 1d-5
    integer :: i

    truth = 0.4d0
    truth(5:8) = 0.1d0
    kappa = 0.25d0
    call simulate(truth, observed)
    if (rod(kappa, observed, loss, gradient) /= 0) error stop "rod failed"
    do i = 1, faces
        moved = kappa
        moved(i) = kappa(i) + h
        if (rod(moved, observed, above, unused) /= 0) error stop "rod failed"
        moved(i) = kappa(i) - h
        if (rod(moved, observed, below, unused) /= 0) error stop "rod failed"
        slope(i) = (above - below) / (2 * h)
    end do
    error = maxval(abs(slope - gradient)) / maxval(abs(slope))
    print '(a, f14.10, a, es8.1)', "loss", loss, "; gradient differs from finite differences by", error
    if (.not. error < 1d-6) error stop "the gradient is wrong"
    do i = 1, 4000
        if (rod(kappa, observed, loss, gradient) /= 0) error stop "rod failed"
        kappa = min(0.45d0, max(0.05d0, kappa - 0.2d0 * gradient))
    end do
    print '(a, es8.1)', "after 4000 steps of gradient descent the loss is", loss
    if (.not. loss < 1d-3) error stop "the descent does not descend"

contains

    subroutine simulate(k, u)
        real(c_double), intent(in) :: k(faces)
        real(c_double), intent(out) :: u(cells)
        real(c_double) :: flux(faces)
        integer :: s
        u = 0
        u(1) = 1
        do s = 1, steps
            flux = k * (u(2:) - u(:faces))
            u(2:faces) = u(2:faces) + flux(2:) - flux(:faces - 1)
        end do
    end subroutine
end program
